import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Starts DynamoDB Local on the loopback interface only. Its own main class listens on every
 * interface and has no option to change that, so the listening address is set on the server
 * before it is started. The process ends with its standard input, a pipe from its parent process:
 * so it does not outlive the parent, however that ends.
 */
public final class LoopbackDynamoDB {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer dynamo = ServerRunner.createServerFromCommandLineArgs(args);
    Field field = DynamoDBProxyServer.class.getDeclaredField("server");
    field.setAccessible(true);
    for (Connector connector : ((Server) field.get(dynamo)).getConnectors()) {
      ((ServerConnector) connector).setHost("127.0.0.1");
    }
    Thread parent = new Thread(LoopbackDynamoDB::exitAtEndOfInput);
    parent.setDaemon(true);
    parent.start();
    dynamo.start();
    dynamo.join();
  }

  private static void exitAtEndOfInput() {
    try {
      while (System.in.read() >= 0) {
        // The input is ignored, except for its end.
      }
    } catch (java.io.IOException e) {
      // A broken pipe ends the process too.
    }
    Runtime.getRuntime().halt(0);
  }
}
