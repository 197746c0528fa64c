"""What `bangbang bench` measures, one module each."""
