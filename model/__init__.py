"""What the protocol is: its choices, its states, its actions, its properties and its faults."""
