"""What a site says beside rules and delays."""
