package shape

import "math"

// Requests about tables and what belongs to them.

var (
	someTable     = tableName(3)
	keyName       = text(1, 255) // the name of an attribute that is part of a key
	positive      = number(longKind, 1, math.MaxInt64)
	units         = number(longKind, math.MinInt64, unbounded) // bounded later, in words of their own
	timeToLive    = text(1, 255)
	tableClass    = anyText // refused later, in words of its own
	billingMode   = enumOf("PROVISIONED", "PAY_PER_REQUEST")
	resourceARN   = text(1, 1283)
	pageOfHundred = number(integerKind, 1, 100)
	keyType       = enumOf("HASH", "RANGE")
	attributeName = text(0, 65535)

	attributeDefinitions = listOf(structure("AttributeDefinition",
		needed("AttributeName", keyName),
		needed("AttributeType", enumOf("B", "N", "S"))), 0, unbounded)

	keySchemaElement = structure("KeySchemaElement",
		needed("AttributeName", keyName),
		needed("KeyType", keyType))
	keySchema = listOf(keySchemaElement, 1, 2)
	// A global secondary index may have four attributes of each key type.
	globalKeySchema = listOf(keySchemaElement, 1, 8)

	projection = structure("Projection",
		member("ProjectionType", enumOf("ALL", "INCLUDE", "KEYS_ONLY")),
		member("NonKeyAttributes", listOf(text(1, 255), 1, 20)))

	provisionedThroughput = structure("ProvisionedThroughput",
		needed("WriteCapacityUnits", positive),
		needed("ReadCapacityUnits", positive))
	onDemandThroughput = structure("OnDemandThroughput",
		member("MaxReadRequestUnits", units),
		member("MaxWriteRequestUnits", units))
	warmThroughput = structure("WarmThroughput",
		member("ReadUnitsPerSecond", units),
		member("WriteUnitsPerSecond", units))

	streamSpecification = structure("StreamSpecification",
		needed("StreamEnabled", flag),
		member("StreamViewType", enumOf("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")))
	sseSpecification = structure("SSESpecification",
		member("Enabled", flag),
		member("SSEType", enumOf("AES256", "KMS")),
		member("KMSMasterKeyId", text(1, unbounded)))

	tags = listOf(structure("Tag", // judged later, in words of their own
		member("Key", anyText),
		member("Value", anyText)), 0, unbounded)
)

var createTable = structure("CreateTableInput",
	needed("AttributeDefinitions", attributeDefinitions),
	needed("TableName", someTable),
	member("ProvisionedThroughput", provisionedThroughput),
	needed("KeySchema", keySchema),
	member("BillingMode", billingMode),
	member("GlobalSecondaryIndexes", listOf(structure("GlobalSecondaryIndex",
		needed("Projection", projection),
		needed("IndexName", indexName),
		member("ProvisionedThroughput", provisionedThroughput),
		needed("KeySchema", globalKeySchema),
		member("OnDemandThroughput", onDemandThroughput),
		member("WarmThroughput", warmThroughput)), 0, unbounded)),
	member("LocalSecondaryIndexes", listOf(structure("LocalSecondaryIndex",
		needed("Projection", projection),
		needed("IndexName", indexName),
		needed("KeySchema", keySchema)), 0, unbounded)),
	member("StreamSpecification", streamSpecification),
	member("SSESpecification", sseSpecification),
	member("Tags", tags),
	member("TableClass", tableClass),
	member("DeletionProtectionEnabled", flag),
	member("OnDemandThroughput", onDemandThroughput),
	member("WarmThroughput", warmThroughput),
	member("ResourcePolicy", anyText),
	member("VectorIndexes", listOf(vectorIndex("VectorIndex"), 0, unbounded)))

// vectorIndex is the shape of a vector index that is to be created.
func vectorIndex(class string) *shape {
	return structure(class,
		needed("Projection", projection),
		needed("IndexName", indexName),
		needed("VectorAttribute", structure("VectorAttributeDefinition", needed("AttributeName", attributeName))),
		needed("Dimensions", number(longKind, 1, unbounded)),
		needed("DistanceFunction", enumOf("COSINE", "DOT_PRODUCT", "EUCLIDEAN")),
		member("SearchSchema", listOf(structure("SearchSchemaElement",
			needed("AttributeName", attributeName),
			needed("SearchSchemaElementType", enumOf("HASH", "INLINE_FILTER"))), 1, unbounded)))
}

var updateTable = structure("UpdateTableInput",
	member("AttributeDefinitions", attributeDefinitions),
	needed("TableName", someTable),
	member("BillingMode", billingMode),
	member("ProvisionedThroughput", provisionedThroughput),
	member("GlobalSecondaryIndexUpdates", listOf(structure("GlobalSecondaryIndexUpdate",
		member("Update", structure("UpdateGlobalSecondaryIndexAction",
			needed("IndexName", indexName),
			member("ProvisionedThroughput", provisionedThroughput),
			member("OnDemandThroughput", onDemandThroughput),
			member("WarmThroughput", warmThroughput))),
		member("Create", structure("CreateGlobalSecondaryIndexAction",
			needed("Projection", projection),
			needed("IndexName", indexName),
			member("ProvisionedThroughput", provisionedThroughput),
			needed("KeySchema", globalKeySchema),
			member("OnDemandThroughput", onDemandThroughput),
			member("WarmThroughput", warmThroughput))),
		member("Delete", structure("DeleteGlobalSecondaryIndexAction",
			needed("IndexName", indexName)))), 0, unbounded)),
	member("StreamSpecification", streamSpecification),
	member("SSESpecification", sseSpecification),
	member("ReplicaUpdates", listOf(structure("ReplicationGroupUpdate",
		member("Create", replica("CreateReplicationGroupMemberAction")),
		member("Update", replica("UpdateReplicationGroupMemberAction")),
		member("Delete", replica("DeleteReplicationGroupMemberAction"))), 1, unbounded)),
	member("TableClass", tableClass),
	member("DeletionProtectionEnabled", flag),
	member("OnDemandThroughput", onDemandThroughput),
	member("WarmThroughput", warmThroughput),
	member("VectorIndexUpdates", listOf(structure("VectorIndexUpdate",
		member("Create", vectorIndex("CreateVectorIndexAction")),
		member("Delete", structure("DeleteVectorIndexAction", needed("IndexName", indexName)))), 0, unbounded)))

// replica is the shape of what is done about one replica.
func replica(class string) *shape { return structure(class, needed("RegionName", anyText)) }

// onTable is the shape of requests that only name a table.
func onTable(class string, more ...field) *shape {
	return structure(class, append([]field{needed("TableName", someTable)}, more...)...)
}

var (
	deleteTable               = onTable("DeleteTableInput")
	describeTable             = onTable("DescribeTableInput")
	describeTimeToLive        = onTable("DescribeTimeToLiveInput")
	describeContinuousBackups = onTable("DescribeContinuousBackupsInput")
	updateContinuousBackups   = onTable("UpdateContinuousBackupsInput",
		needed("PointInTimeRecoverySpecification", structure("PointInTimeRecoverySpecification",
			needed("PointInTimeRecoveryEnabled", flag),
			member("RecoveryPeriodInDays", number(integerKind, 1, 35)))))
	updateTimeToLive = onTable("UpdateTimeToLiveInput",
		needed("TimeToLiveSpecification", structure("TimeToLiveSpecification",
			needed("AttributeName", timeToLive),
			needed("Enabled", flag))))
)

var listTables = structure("ListTablesInput",
	member("ExclusiveStartTableName", indexName),
	member("Limit", pageOfHundred))

var (
	tagResource = structure("TagResourceInput",
		needed("ResourceArn", resourceARN),
		needed("Tags", tags))
	untagResource = structure("UntagResourceInput",
		needed("ResourceArn", resourceARN),
		needed("TagKeys", listOf(anyText, 0, unbounded)))
	listTagsOfResource = structure("ListTagsOfResourceInput",
		needed("ResourceArn", resourceARN),
		member("NextToken", anyText))
)

var (
	describeLimits    = structure("DescribeLimitsInput")
	describeEndpoints = structure("DescribeEndpointsRequest")
)
