package io.bucketstate.s3

import java.io.IOException
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.{InetAddress, ServerSocket, Socket, URI}
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.TimeUnit

import scala.util.Using

/**
 * An emulator of Amazon S3 on this machine, moto's server, with one empty bucket. Ends with the JVM, if it is not closed
 * before.
 */
final class Emulator private (process: Process, val port: Int) extends AutoCloseable {
  private[this] val ending = new Thread(() => end())
  Runtime.getRuntime.addShutdownHook(ending)

  override def close(): Unit = {
    end()
    Runtime.getRuntime.removeShutdownHook(ending)
    ()
  }

  private def end(): Unit = {
    process.destroyForcibly().waitFor(10, TimeUnit.SECONDS)
    ()
  }
}

object Emulator {
  val Bucket = "checkpoints"

  def start(): Emulator = {
    requireMoto()
    val port = freePort()
    val log = Files.createTempFile("moto", ".log")
    val process = new ProcessBuilder(
      python.toString,
      "-m",
      "moto.server",
      "-H",
      "127.0.0.1",
      "-p",
      port.toString
    ).redirectErrorStream(true).redirectOutput(log.toFile).start()
    val emulator = new Emulator(process, port)
    awaitPort(process, port, log)
    val made = HttpClient
      .newHttpClient()
      .send(
        HttpRequest
          .newBuilder(URI.create(s"http://127.0.0.1:$port/$Bucket"))
          .PUT(HttpRequest.BodyPublishers.noBody())
          .header("Authorization", Credentials)
          .build(),
        HttpResponse.BodyHandlers.ofString()
      )
    require(made.statusCode == 200, s"no bucket: ${made.statusCode} ${made.body}")
    emulator
  }

  /** moto takes the service from it, and checks no signature. */
  private val Credentials =
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"

  private def python: Path =
    Paths.get(sys.env.getOrElse("BUCKETSTATE_PYTHON", ".venv/bin/python")).toAbsolutePath

  private def requireMoto(): Unit = {
    val found =
      try
        new ProcessBuilder(python.toString, "-c", "import moto.server")
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor() == 0
      catch { case _: IOException => false }
    if (!found) {
      throw new IllegalStateException(
        s"$python cannot import moto.server, which stands in for Amazon S3: run `make .stamps/venv-4.3`, or set " +
          "BUCKETSTATE_PYTHON to a Python that has moto[server]."
      )
    }
  }

  private def freePort(): Int =
    Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress))(_.getLocalPort)

  private def awaitPort(process: Process, port: Int, log: Path): Unit = {
    def answers =
      try {
        new Socket(InetAddress.getLoopbackAddress, port).close()
        true
      } catch { case _: IOException => false }
    while (!answers)
      // Waits a moment, and finds out whether there is anything to wait for.
      if (process.waitFor(100, TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException(s"moto's server ended: ${Files.readString(log)}")
      }
  }
}
