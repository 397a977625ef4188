# memstrata on AWS: the service on Fargate behind a load balancer, the store in Aurora PostgreSQL. deploy/README.md says why these.

terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = { source = "hashicorp/aws", version = "~> 5.60" }
  }
}

provider "aws" {
  region = var.region
}

# network ---------------------------------------------------------------------------------------------------------------

resource "aws_security_group" "balancer" {
  name_prefix = "${var.name}-balancer-"
  description = "HTTPS from callers"
  vpc_id      = var.vpc_id

  ingress {
    description = "HTTPS"
    from_port   = 443
    to_port     = 443
    protocol    = "tcp"
    cidr_blocks = var.callers
  }

  egress {
    description     = "to the service"
    from_port       = 8321
    to_port         = 8321
    protocol        = "tcp"
    security_groups = [aws_security_group.service.id]
  }
}

resource "aws_security_group" "service" {
  name_prefix = "${var.name}-service-"
  description = "the service"
  vpc_id      = var.vpc_id

  egress {
    description = "the database, image registry, secrets, identity provider, language models"
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_security_group_rule" "balancer_to_service" {
  type                     = "ingress"
  description              = "from the balancer"
  from_port                = 8321
  to_port                  = 8321
  protocol                 = "tcp"
  security_group_id        = aws_security_group.service.id
  source_security_group_id = aws_security_group.balancer.id
}

resource "aws_security_group" "database" {
  name_prefix = "${var.name}-database-"
  description = "PostgreSQL from the service"
  vpc_id      = var.vpc_id

  ingress {
    description     = "PostgreSQL"
    from_port       = 5432
    to_port         = 5432
    protocol        = "tcp"
    security_groups = [aws_security_group.service.id]
  }
}

# store -----------------------------------------------------------------------------------------------------------------

resource "aws_kms_key" "store" {
  description         = "${var.name}: memory at rest"
  enable_key_rotation = true
}

resource "aws_db_subnet_group" "store" {
  name_prefix = "${var.name}-"
  subnet_ids  = var.private_subnets
}

resource "aws_rds_cluster" "store" {
  cluster_identifier_prefix       = "${var.name}-"
  engine                          = "aurora-postgresql"
  engine_mode                     = "provisioned"
  engine_version                  = "16.6"
  database_name                   = "memory"
  master_username                 = "memory"
  manage_master_user_password     = true # in Secrets Manager, rotated
  storage_encrypted               = true
  kms_key_id                      = aws_kms_key.store.arn
  db_subnet_group_name            = aws_db_subnet_group.store.name
  vpc_security_group_ids          = [aws_security_group.database.id]
  backup_retention_period         = var.backup_days
  deletion_protection             = true
  copy_tags_to_snapshot           = true
  final_snapshot_identifier       = "${var.name}-final"
  enabled_cloudwatch_logs_exports = [] # statements may hold memory text

  serverlessv2_scaling_configuration {
    min_capacity = var.database_min_acu
    max_capacity = var.database_max_acu
  }
}

resource "aws_rds_cluster_instance" "store" {
  count                = 2 # a writer, and a reader that takes over
  identifier_prefix    = "${var.name}-"
  cluster_identifier   = aws_rds_cluster.store.id
  engine               = aws_rds_cluster.store.engine
  instance_class       = "db.serverless"
  db_subnet_group_name = aws_db_subnet_group.store.name
}

# service ---------------------------------------------------------------------------------------------------------------

resource "aws_ecs_cluster" "this" {
  name = var.name
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/ecs/${var.name}"
  retention_in_days = 30
}

data "aws_iam_policy_document" "task" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "start" {
  name_prefix        = "${var.name}-start-"
  assume_role_policy = data.aws_iam_policy_document.task.json
}

resource "aws_iam_role_policy_attachment" "start" {
  role       = aws_iam_role.start.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

data "aws_iam_policy_document" "secret" {
  statement {
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [aws_rds_cluster.store.master_user_secret[0].secret_arn]
  }
}

resource "aws_iam_role_policy" "secret" {
  role   = aws_iam_role.start.id
  policy = data.aws_iam_policy_document.secret.json
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 1024
  memory                   = 4096
  execution_role_arn       = aws_iam_role.start.arn

  volume { name = "data" }
  volume { name = "tmp" }

  container_definitions = jsonencode([{
    name                   = "memstrata"
    image                  = var.image
    essential              = true
    readonlyRootFilesystem = true
    stopTimeout            = 40
    command = [
      "serve", "--host=0.0.0.0", "--port=8321", "--access=/data/access", "--hsts",
      "--oidc-issuer=${var.oidc_issuer}", "--oidc-audience=${var.oidc_audience}", "--oidc-jwks=${var.oidc_jwks}",
    ]
    environment = [
      { name = "MEMSTRATA_PATH", value = "postgresql://memory@${aws_rds_cluster.store.endpoint}/memory?sslmode=require" },
    ]
    secrets = [
      { name = "PGPASSWORD", valueFrom = "${aws_rds_cluster.store.master_user_secret[0].secret_arn}:password::" },
    ]
    portMappings = [{ containerPort = 8321 }]
    mountPoints = [
      { sourceVolume = "data", containerPath = "/data" },
      { sourceVolume = "tmp", containerPath = "/tmp" },
    ]
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.this.name
        awslogs-region        = var.region
        awslogs-stream-prefix = "memstrata"
      }
    }
  }])
}

resource "aws_ecs_service" "this" {
  name            = var.name
  cluster         = aws_ecs_cluster.this.id
  task_definition = aws_ecs_task_definition.this.arn
  desired_count   = var.tasks
  launch_type     = "FARGATE"

  network_configuration {
    subnets         = var.private_subnets
    security_groups = [aws_security_group.service.id]
  }

  load_balancer {
    target_group_arn = aws_lb_target_group.this.arn
    container_name   = "memstrata"
    container_port   = 8321
  }

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  depends_on = [aws_lb_listener.https]
}

# the way in ------------------------------------------------------------------------------------------------------------

resource "aws_lb" "this" {
  name_prefix                = "mstr-"
  load_balancer_type         = "application"
  internal                   = var.internal
  subnets                    = var.internal ? var.private_subnets : var.public_subnets
  security_groups            = [aws_security_group.balancer.id]
  drop_invalid_header_fields = true
  enable_deletion_protection = true
  idle_timeout               = 120 # answers are streamed
}

resource "aws_lb_target_group" "this" {
  name_prefix          = "mstr-"
  port                 = 8321
  protocol             = "HTTP"
  target_type          = "ip"
  vpc_id               = var.vpc_id
  deregistration_delay = 40

  health_check {
    path     = "/readyz"
    interval = 10
  }
}

resource "aws_lb_listener" "https" {
  load_balancer_arn = aws_lb.this.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate_arn

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.this.arn
  }
}
