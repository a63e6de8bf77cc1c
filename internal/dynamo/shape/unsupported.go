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

func createBackup() *shape { return onTable("CreateBackupInput", required("BackupName", name(3, 255))) }

func oneBackup() *shape { return structure("DescribeBackupInput", required("BackupArn", anyText)) }

func deleteBackup() *shape { return structure("DeleteBackupInput", required("BackupArn", anyText)) }

func listBackups() *shape {
	return structure("ListBackupsInput",
		member("TableName", someTable),
		member("Limit", pageOfHundred),
		member("ExclusiveStartBackupArn", resourceName),
		member("BackupType", enumOf("USER", "SYSTEM", "AWS_BACKUP", "ALL")))
}

func restoreFromBackup() *shape {
	return structure("RestoreTableFromBackupInput",
		required("TargetTableName", namedTable),
		required("BackupArn", anyText))
}

func restoreToPointInTime() *shape {
	return structure("RestoreTableToPointInTimeInput",
		member("SourceTableArn", text(1, 1024)),
		member("SourceTableName", namedTable),
		required("TargetTableName", namedTable),
		member("UseLatestRestorableTime", flag))
}

func exportTable() *shape {
	return structure("ExportTableToPointInTimeInput",
		required("TableArn", anyText),
		required("S3Bucket", text(0, 255)),
		member("ExportFormat", recordFormat))
}

func describeExport() *shape {
	return structure("DescribeExportInput", required("ExportArn", resourceName))
}

func listExports() *shape {
	return structure("ListExportsInput",
		member("TableArn", text(1, 1024)),
		member("MaxResults", pageOf25),
		member("NextToken", anyText))
}

func importTable() *shape {
	return structure("ImportTableInput",
		required("S3BucketSource", anything),
		required("InputFormat", enumOf("DYNAMODB_JSON", "ION", "CSV")),
		required("TableCreationParameters", anything))
}

func describeImport() *shape {
	return structure("DescribeImportInput", required("ImportArn", resourceName))
}

func listImports() *shape {
	return structure("ListImportsInput",
		member("TableArn", text(1, 1024)),
		member("PageSize", pageOf25),
		member("NextToken", text(112, 1024)))
}

var listOfReplicas = listOf(anything, 0, unbounded)

func createGlobalTable() *shape {
	return structure("CreateGlobalTableInput",
		required("GlobalTableName", namedTable),
		required("ReplicationGroup", listOfReplicas))
}

func updateGlobalTable() *shape {
	return structure("UpdateGlobalTableInput",
		required("GlobalTableName", namedTable),
		required("ReplicaUpdates", listOfReplicas))
}

func oneGlobalTable() *shape {
	return structure("DescribeGlobalTableInput", required("GlobalTableName", namedTable))
}

func listGlobalTables() *shape {
	return structure("ListGlobalTablesInput",
		member("ExclusiveStartGlobalTableName", namedTable),
		member("Limit", number(integerKind, 1, unbounded)),
		member("RegionName", anyText))
}

func replicaAutoScaling() *shape { return onTable("DescribeTableReplicaAutoScalingInput") }

func getResourcePolicy() *shape {
	return structure("GetResourcePolicyInput", required("ResourceArn", resourceARN))
}

func putResourcePolicy() *shape {
	return structure("PutResourcePolicyInput",
		required("ResourceArn", resourceARN),
		required("Policy", anyText),
		member("ExpectedRevisionId", revision),
		member("ConfirmRemoveSelfResourceAccess", flag))
}

func deleteResourcePolicy() *shape {
	return structure("DeleteResourcePolicyInput",
		required("ResourceArn", resourceARN),
		member("ExpectedRevisionId", revision))
}

var (
	insightsMode = enumOf("THROTTLED_KEYS", "ACCESSED_AND_THROTTLED_KEYS")
)

func describeContributorInsights() *shape {
	return onTable("DescribeContributorInsightsInput", member("IndexName", indexName))
}

func updateContributorInsights() *shape {
	return onTable("UpdateContributorInsightsInput",
		member("IndexName", indexName),
		required("ContributorInsightsAction", enumOf("ENABLE", "DISABLE")),
		member("ContributorInsightsMode", insightsMode))
}

func listContributorInsights() *shape {
	return structure("ListContributorInsightsInput",
		member("TableName", someTable),
		member("NextToken", anyText),
		member("MaxResults", number(integerKind, 0, 100)))
}

func describeDestination() *shape { return onTable("DescribeKinesisStreamingDestinationInput") }

func changeDestination() *shape {
	return onTable("KinesisStreamingDestinationInput", required("StreamArn", resourceName))
}
