package io.bucketstate.s3

import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.{InetAddress, InetSocketAddress, URI}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentLinkedQueue, Executors}

import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.{HttpExchange, HttpServer}

/**
 * One request as it came in.
 *
 * @param kind PUT, GET, HEAD, LIST, DELETE, COPY, or PART for what a file in parts takes
 * @param what the key, or what is listed, or the body that names what is deleted
 */
final case class Seen(kind: String, what: String, conditional: Boolean)

/** What becomes of a request. */
sealed trait Trouble

object Trouble {

  /** It never arrives. */
  case object Cut extends Trouble

  /** It is carried out, and its answer is lost. */
  case object LosesAnswer extends Trouble

  /** It is carried out, and of its answer only so many bytes come back. */
  final case class CutsAnswer(after: Int) extends Trouble

  /** It is refused, such as with 503. */
  final case class Refused(status: Int, code: String) extends Trouble

  /** It is carried out, and its answer comes when this returns. */
  final case class Waits(until: () => Unit) extends Trouble
}

/** Stands before an S3 server, writes down each request, and lets some of them go wrong. Thread-safe. */
final class CountingProxy(server: Int) extends AutoCloseable {
  private[this] val requests = new ConcurrentLinkedQueue[Seen]
  @volatile private[this] var trouble: Seen => Option[Trouble] = _ => None
  private[this] val client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()
  private[this] val threads = Executors.newCachedThreadPool { (task: Runnable) =>
    val thread = new Thread(task, "counting-proxy")
    thread.setDaemon(true)
    thread
  }
  private[this] val front =
    HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress, 0), 0)
  front.setExecutor(threads)
  front.createContext("/", exchange => handle(exchange))
  front.start()

  def port: Int = front.getAddress.getPort

  /** All since the last call. */
  def drain(): Seq[Seen] =
    Iterator.continually(requests.poll()).takeWhile(_ != null).toSeq

  /** What happens to requests while `body` runs, decided for each as it comes. */
  def during[A](decide: Seen => Option[Trouble])(body: => A): A = {
    trouble = decide
    try body
    finally trouble = _ => None
  }

  override def close(): Unit = {
    front.stop(0)
    threads.shutdownNow()
    ()
  }

  private def handle(exchange: HttpExchange): Unit =
    try {
      val body = exchange.getRequestBody.readAllBytes()
      val seen = CountingProxy.seen(exchange, body)
      requests.add(seen)
      trouble(seen) match {
        case Some(Trouble.Cut)                   => ()
        case Some(Trouble.Refused(status, code)) => refuse(exchange, status, code)
        case Some(Trouble.LosesAnswer)           => forward(exchange, body); ()
        case Some(Trouble.CutsAnswer(after))     =>
          answer(exchange, forward(exchange, body), after)
        case Some(Trouble.Waits(until)) =>
          val response = forward(exchange, body)
          until()
          answer(exchange, response, Int.MaxValue)
        case None => answer(exchange, forward(exchange, body), Int.MaxValue)
      }
    } finally exchange.close()

  private def forward(exchange: HttpExchange, body: Array[Byte]): HttpResponse[Array[Byte]] = {
    val builder = HttpRequest
      .newBuilder(URI.create(s"http://127.0.0.1:$server${exchange.getRequestURI.toASCIIString}"))
      .method(exchange.getRequestMethod, HttpRequest.BodyPublishers.ofByteArray(body))
    exchange.getRequestHeaders.asScala.foreach { case (name, values) =>
      if (!CountingProxy.OwnHeaders(name.toLowerCase)) values.forEach(v => builder.header(name, v))
    }
    client.send(builder.build(), HttpResponse.BodyHandlers.ofByteArray())
  }

  private def answer(
      exchange: HttpExchange,
      response: HttpResponse[Array[Byte]],
      atMost: Int
  ): Unit = {
    val isHead = exchange.getRequestMethod == "HEAD"
    response.headers.map.forEach { (name, values) =>
      val isLength = name.equalsIgnoreCase("content-length")
      if ((isHead && isLength) || !(isLength || CountingProxy.OwnHeaders(name.toLowerCase)))
        values.forEach(v => exchange.getResponseHeaders.add(name, v))
    }
    val body = response.body
    if (isHead || body.isEmpty) exchange.sendResponseHeaders(response.statusCode, -1)
    else {
      exchange.sendResponseHeaders(response.statusCode, body.length.toLong)
      exchange.getResponseBody.write(body, 0, math.min(atMost, body.length))
      if (atMost >= body.length) exchange.getResponseBody.close()
    }
  }

  private def refuse(exchange: HttpExchange, status: Int, code: String): Unit = {
    val body = s"<?xml version='1.0'?><Error><Code>$code</Code><Message>made to</Message></Error>"
      .getBytes(UTF_8)
    exchange.getResponseHeaders.add("Content-Type", "application/xml")
    exchange.sendResponseHeaders(status, body.length.toLong)
    exchange.getResponseBody.write(body)
    exchange.getResponseBody.close()
  }
}

object CountingProxy {
  private val OwnHeaders =
    Set("host", "connection", "content-length", "expect", "transfer-encoding", "date", "server")

  private def seen(exchange: HttpExchange, body: Array[Byte]): Seen = {
    val (method, uri) = (exchange.getRequestMethod, exchange.getRequestURI)
    val query = Option(uri.getQuery).getOrElse("")
    val isInParts = query.contains("uploads") || query.contains("uploadId=")
    val kind = method match {
      case "PUT" if exchange.getRequestHeaders.containsKey("x-amz-copy-source") => "COPY"
      case "PUT" | "POST" | "DELETE" if isInParts                               => "PART"
      case "POST" if query.contains("delete")                                   => "DELETE"
      case "GET" if query.contains("list-type") || query.contains("prefix=")    => "LIST"
      case other                                                                => other
    }
    val what = kind match {
      case "LIST"                      => s"${uri.getPath}?$query"
      case "DELETE" if body.length > 0 => new String(body, UTF_8)
      case _                           => uri.getPath
    }
    Seen(kind, what, exchange.getRequestHeaders.containsKey("If-None-Match"))
  }
}
