"""What is written of every change: the operation log with its receipts, and the queue of work that follows."""
