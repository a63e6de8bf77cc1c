import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.SdkField;
import software.amazon.awssdk.core.SdkPojo;
import software.amazon.awssdk.core.protocol.MarshallingType;
import software.amazon.awssdk.core.traits.ListTrait;
import software.amazon.awssdk.core.traits.MapTrait;
import software.amazon.awssdk.core.util.DefaultSdkAutoConstructList;
import software.amazon.awssdk.core.util.DefaultSdkAutoConstructMap;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider;
import software.amazon.awssdk.core.retry.RetryPolicy;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.DynamoDbException;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.utils.builder.Buildable;
import software.amazon.dax.ClusterDaxClient;
import software.amazon.dax.Configuration;

/**
 * Reads steps from its input, one JSON object per line, and executes them with the DAX client and,
 * concurrently, with the SDK itself. Prints the answers of each side, one JSON object per line.
 * Arguments: the DAX front, the HTTP endpoint, and the texts that replace "RUN-" in the names of
 * tables on either side.
 */
public final class Driver {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  public static void main(String[] args) throws Exception {
    List<String> lines;
    try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      lines = in.lines().filter(line -> !line.isBlank()).collect(Collectors.toList());
    }
    var credentials = EnvironmentVariableCredentialsProvider.create();
    var configuration = Configuration.builder().url(args[0]).region(Region.US_EAST_1).credentialsProvider(credentials).build();
    DynamoDbClient dax = ClusterDaxClient.builder().overrideConfiguration(configuration).build();
    DynamoDbClient plain = DynamoDbClient.builder().endpointOverride(URI.create(args[1])).region(Region.US_EAST_1)
        .credentialsProvider(credentials).overrideConfiguration(c -> c.retryPolicy(RetryPolicy.none())).build();
    var both = List.of(new Thread(() -> side("dax", dax, args[2], lines)), new Thread(() -> side("plain", plain, args[3], lines)));
    for (Thread one : both) one.start();
    for (Thread one : both) one.join();
    System.exit(0); // the clients' own threads go on
  }

  private static void side(String name, DynamoDbClient client, String prefix, List<String> lines) {
    try {
      for (String line : lines) {
        JsonNode step = JSON.readTree(line.replace("RUN-", prefix));
        ObjectNode result = NODES.objectNode().put("side", name);
        result.set("step", step.get("step"));
        result.setAll(answer(client, step));
        String text = JSON.writeValueAsString(result) + "\n";
        synchronized (System.out) {
          System.out.write(text.getBytes(StandardCharsets.UTF_8));
          System.out.flush();
        }
      }
    } catch (Exception e) {
      e.printStackTrace();
      System.exit(1);
    }
  }

  private static ObjectNode answer(DynamoDbClient client, JsonNode step) throws Exception {
    ObjectNode failure = NODES.objectNode();
    try {
      return (ObjectNode) NODES.objectNode().set("answer", ask(client, step));
    } catch (InvocationTargetException e) {
      Throwable cause = e.getCause();
      failure.put("code", cause.getClass().getSimpleName()).put("message", cause.getMessage());
      if (cause instanceof DynamoDbException) {
        var details = ((DynamoDbException) cause).awsErrorDetails();
        if (details != null) failure.put("code", details.errorCode()).put("message", details.errorMessage());
      }
      if (cause instanceof TransactionCanceledException) {
        ArrayNode reasons = failure.putArray("reasons");
        for (var reason : ((TransactionCanceledException) cause).cancellationReasons()) reasons.add(json(reason));
      }
    }
    return (ObjectNode) NODES.objectNode().set("error", failure);
  }

  /** Does one call, or all pages of it. Wait, which is no operation, waits for an answer by HTTP. */
  private static ObjectNode ask(DynamoDbClient client, JsonNode step) throws Exception {
    String operation = step.get("op").asText();
    if (operation.equals("Wait")) {
      try (var in = URI.create(step.get("params").get("URL").asText()).toURL().openStream()) {
        return NODES.objectNode().put("waited", new String(in.readAllBytes(), StandardCharsets.UTF_8));
      }
    }
    Class<?> type = Class.forName("software.amazon.awssdk.services.dynamodb.model." + operation + "Request");
    Method method = DynamoDbClient.class.getMethod(operation.substring(0, 1).toLowerCase() + operation.substring(1), type);
    ObjectNode params = step.get("params").deepCopy();
    if (!step.path("pages").asBoolean()) return json((SdkPojo) method.invoke(client, pojo(type, params)));
    ArrayNode pages = NODES.arrayNode();
    while (true) {
      ObjectNode page = json((SdkPojo) method.invoke(client, pojo(type, params)));
      pages.add(page);
      if (!page.has("LastEvaluatedKey")) return (ObjectNode) NODES.objectNode().set("pages", pages);
      params.set("ExclusiveStartKey", page.get("LastEvaluatedKey"));
    }
  }

  /** Makes one of the SDK's objects; the types of its fields are those of the SDK's own schema. */
  private static Object pojo(Class<?> type, JsonNode from) throws Exception {
    return built((SdkPojo) type.getMethod("builder").invoke(null), from);
  }

  private static Object built(SdkPojo builder, JsonNode from) throws Exception {
    Map<String, SdkField<?>> fields = new LinkedHashMap<>();
    for (SdkField<?> field : builder.sdkFields()) fields.put(field.locationName(), field);
    for (var members = from.fields(); members.hasNext(); ) {
      var member = members.next();
      SdkField<?> field = fields.get(member.getKey());
      if (field == null) throw new IllegalArgumentException("no member " + member.getKey() + " in " + builder.getClass());
      field.set(builder, value(field, member.getValue()));
    }
    return ((Buildable) builder).build();
  }

  private static Object value(SdkField<?> field, JsonNode from) throws Exception {
    MarshallingType<?> type = field.marshallingType();
    if (type == MarshallingType.LIST) {
      SdkField<?> member = field.getTrait(ListTrait.class).memberFieldInfo();
      List<Object> list = new ArrayList<>();
      for (JsonNode element : from) list.add(value(member, element));
      return list;
    }
    if (type == MarshallingType.MAP) {
      SdkField<?> member = field.getTrait(MapTrait.class).valueFieldInfo();
      Map<String, Object> map = new LinkedHashMap<>();
      for (var members = from.fields(); members.hasNext(); ) {
        var one = members.next();
        map.put(one.getKey(), value(member, one.getValue()));
      }
      return map;
    }
    if (type == MarshallingType.SDK_POJO) return built(field.constructor().get(), from);
    if (type == MarshallingType.SDK_BYTES) return SdkBytes.fromByteArray(Base64.getDecoder().decode(from.asText()));
    if (type == MarshallingType.BOOLEAN) return from.asBoolean();
    if (type == MarshallingType.INTEGER) return from.asInt();
    return from.asText();
  }

  private static ObjectNode json(SdkPojo from) {
    ObjectNode out = NODES.objectNode();
    for (SdkField<?> field : from.sdkFields()) {
      Object value = field.getValueOrDefault(from);
      if (value == null || value instanceof DefaultSdkAutoConstructList || value instanceof DefaultSdkAutoConstructMap) continue;
      out.set(field.locationName(), node(value));
    }
    return out;
  }

  private static JsonNode node(Object value) {
    if (value == null) return NODES.nullNode();
    if (value instanceof SdkPojo) return json((SdkPojo) value);
    if (value instanceof SdkBytes) return NODES.textNode(Base64.getEncoder().encodeToString(((SdkBytes) value).asByteArray()));
    if (value instanceof Boolean) return NODES.booleanNode((Boolean) value);
    if (value instanceof Integer) return NODES.numberNode((Integer) value);
    if (value instanceof Double) return NODES.numberNode((Double) value);
    if (value instanceof List) {
      ArrayNode out = NODES.arrayNode();
      for (Object one : (List<?>) value) out.add(node(one));
      return out;
    }
    if (value instanceof Map) {
      ObjectNode out = NODES.objectNode();
      for (var one : ((Map<?, ?>) value).entrySet()) out.set((String) one.getKey(), node(one.getValue()));
      return out;
    }
    return NODES.textNode(value.toString());
  }
}
