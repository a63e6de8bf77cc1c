import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Starts DynamoDB Local on the loopback interface only. Its own main class listens on every
 * interface and offers no option against that, so the listening address is set on the server
 * between making and starting it. It ends when its standard input does: whoever started it
 * holds the other end of that pipe, so it can't outlive them, however they ended.
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
        // Whatever is said here means nothing; only the end of it does.
      }
    } catch (java.io.IOException e) {
      // A broken pipe ends it too.
    }
    Runtime.getRuntime().halt(0);
  }
}
