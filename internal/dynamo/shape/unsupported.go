package shape

// Requests for features that only the service has: a store answers most valid ones with an
// error.

var (
	resourceName = text(37, 1024) // the ARN of an export, an import or a stream of Kinesis
	namedTable   = name(3, 255)   // by its name, not its ARN
	recordFormat = enumOf("DYNAMODB_JSON", "ION")
	pageOf25     = number(integerKind, 1, 25)
	revision     = text(1, 255)
	anything     = structure("Structure") // not checked further
)

var (
	createBackup = onTable("CreateBackupInput", required("BackupName", name(3, 255)))
	oneBackup    = structure("DescribeBackupInput", required("BackupArn", anyText))
	deleteBackup = structure("DeleteBackupInput", required("BackupArn", anyText))
	listBackups  = structure("ListBackupsInput",
		member("TableName", someTable),
		member("Limit", pageOfHundred),
		member("ExclusiveStartBackupArn", resourceName),
		member("BackupType", enumOf("USER", "SYSTEM", "AWS_BACKUP", "ALL")))
	restoreFromBackup = structure("RestoreTableFromBackupInput",
		required("TargetTableName", namedTable),
		required("BackupArn", anyText))
	restoreToPointInTime = structure("RestoreTableToPointInTimeInput",
		member("SourceTableArn", text(1, 1024)),
		member("SourceTableName", namedTable),
		required("TargetTableName", namedTable),
		member("UseLatestRestorableTime", flag))
)

var (
	exportTable = structure("ExportTableToPointInTimeInput",
		required("TableArn", anyText),
		required("S3Bucket", text(0, 255)),
		member("ExportFormat", recordFormat))
	describeExport = structure("DescribeExportInput", required("ExportArn", resourceName))
	listExports    = structure("ListExportsInput",
		member("TableArn", text(1, 1024)),
		member("MaxResults", pageOf25),
		member("NextToken", anyText))
	importTable = structure("ImportTableInput",
		required("S3BucketSource", anything),
		required("InputFormat", enumOf("DYNAMODB_JSON", "ION", "CSV")),
		required("TableCreationParameters", anything))
	describeImport = structure("DescribeImportInput", required("ImportArn", resourceName))
	listImports    = structure("ListImportsInput",
		member("TableArn", text(1, 1024)),
		member("PageSize", pageOf25),
		member("NextToken", text(112, 1024)))
)

var (
	listOfReplicas    = listOf(anything, 0, unbounded)
	createGlobalTable = structure("CreateGlobalTableInput",
		required("GlobalTableName", namedTable),
		required("ReplicationGroup", listOfReplicas))
	updateGlobalTable = structure("UpdateGlobalTableInput",
		required("GlobalTableName", namedTable),
		required("ReplicaUpdates", listOfReplicas))
	oneGlobalTable   = structure("DescribeGlobalTableInput", required("GlobalTableName", namedTable))
	listGlobalTables = structure("ListGlobalTablesInput",
		member("ExclusiveStartGlobalTableName", namedTable),
		member("Limit", number(integerKind, 1, unbounded)),
		member("RegionName", anyText))
	replicaAutoScaling = onTable("DescribeTableReplicaAutoScalingInput")
)

var (
	getResourcePolicy = structure("GetResourcePolicyInput", required("ResourceArn", resourceARN))
	putResourcePolicy = structure("PutResourcePolicyInput",
		required("ResourceArn", resourceARN),
		required("Policy", anyText),
		member("ExpectedRevisionId", revision),
		member("ConfirmRemoveSelfResourceAccess", flag))
	deleteResourcePolicy = structure("DeleteResourcePolicyInput",
		required("ResourceArn", resourceARN),
		member("ExpectedRevisionId", revision))
)

var (
	insightsMode                = enumOf("THROTTLED_KEYS", "ACCESSED_AND_THROTTLED_KEYS")
	describeContributorInsights = onTable("DescribeContributorInsightsInput", member("IndexName", indexName))
	updateContributorInsights   = onTable("UpdateContributorInsightsInput",
		member("IndexName", indexName),
		required("ContributorInsightsAction", enumOf("ENABLE", "DISABLE")),
		member("ContributorInsightsMode", insightsMode))
	listContributorInsights = structure("ListContributorInsightsInput",
		member("TableName", someTable),
		member("NextToken", anyText),
		member("MaxResults", number(integerKind, 0, 100)))
	describeDestination = onTable("DescribeKinesisStreamingDestinationInput")
	changeDestination   = onTable("KinesisStreamingDestinationInput", required("StreamArn", resourceName))
)
