"""Compare; ``field`` says what."""

from benchmarks.local_search.field import main

if __name__ == "__main__":
    main()
