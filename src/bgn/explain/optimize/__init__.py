"""The lowest and highest score of a network among the rows of a domain: attained by a row, and proven."""
