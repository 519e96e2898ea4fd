package org.apache.spark.ui.bucketstate;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Supplier;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.spark.SparkContext;
import org.apache.spark.ui.SparkUI;
import scala.Option;

/**
 * Pages of text in Spark's web UI, which is private to Spark. In Java, because Scala's compiler looks for the web server's classes under
 * names that Spark's jar no longer has.
 */
public final class WebUi {
  private WebUi() {}

  /**
   * Answers requests for a page with a text.
   *
   * @param folder what the page lies in, which no other handler has: a page that is a folder of its own would be redirected
   * @param text asked for with each request, by the web server's threads
   * @return where it is found; empty if the application has no web UI
   */
  public static Optional<String> attachText(
      SparkContext context, String folder, String page, String contentType, Supplier<String> text) {
    Option<SparkUI> ui = context.ui();
    if (ui.isEmpty()) {
      return Optional.empty();
    }
    ui.get().attachHandler(folder, new TextServlet(contentType, text), page);
    return Optional.of(ui.get().webUrl() + folder + page);
  }

  private static final class TextServlet extends HttpServlet {
    private static final long serialVersionUID = 1L;
    private final String contentType;
    private final transient Supplier<String> text;

    TextServlet(String contentType, Supplier<String> text) {
      this.contentType = contentType;
      this.text = text;
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      response.setContentType(contentType + "; charset=utf-8");
      response.setHeader("Cache-Control", "no-cache, no-store, must-revalidate");
      response.getOutputStream().write(text.get().getBytes(StandardCharsets.UTF_8));
    }
  }
}
