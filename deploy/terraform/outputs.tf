output "address" {
  description = "Where the service answers; point your name at it."
  value       = aws_lb.this.dns_name
}
