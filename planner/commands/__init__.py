"""What each command does, apart from its words on the command line."""
