"""Tables written once: releases that don't fit in memory, and tables that grow."""
