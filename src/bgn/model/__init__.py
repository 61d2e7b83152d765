"""What a network is: schema, neurons, layers, network; its terms and the theory of its regions."""
