"""`python -m kenyon` is the command line."""

from kenyon.cli import main

if __name__ == "__main__":
    main()
