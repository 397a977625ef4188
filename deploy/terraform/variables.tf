variable "region" {
  type        = string
  description = "The AWS region."
  default     = "ap-northeast-1"
}

variable "name" {
  type        = string
  description = "What everything is named after."
  default     = "memstrata"
}

variable "image" {
  type        = string
  description = "The image built from deploy/Dockerfile, by digest."
}

variable "vpc_id" {
  type        = string
  description = "The network."
}

variable "private_subnets" {
  type        = list(string)
  description = "Subnets of the service and the database, in two zones or more, with a way out."
}

variable "public_subnets" {
  type        = list(string)
  description = "Subnets of a balancer that the world can reach."
  default     = []
}

variable "internal" {
  type        = bool
  description = "Whether only this network can reach it."
  default     = true
}

variable "callers" {
  type        = list(string)
  description = "Address ranges that may call."
}

variable "certificate_arn" {
  type        = string
  description = "The certificate of the balancer."
}

variable "oidc_issuer" {
  type        = string
  description = "The identity provider whose tokens are taken."
}

variable "oidc_audience" {
  type        = string
  description = "The audience that its tokens must have."
  default     = "memstrata"
}

variable "oidc_jwks" {
  type        = string
  description = "The address of its keys."
}

variable "tasks" {
  type        = number
  description = "How many tasks of the service."
  default     = 2
}

variable "database_min_acu" {
  type        = number
  description = "Smallest capacity of the database, in Aurora units."
  default     = 0.5
}

variable "database_max_acu" {
  type        = number
  description = "Largest capacity of the database, in Aurora units."
  default     = 16
}

variable "backup_days" {
  type        = number
  description = "How long backups are kept. What is erased lives on in them so long."
  default     = 14
}
