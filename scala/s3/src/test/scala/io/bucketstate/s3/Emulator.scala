package io.bucketstate.s3

import java.io.IOException
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.TimeUnit

import scala.annotation.tailrec

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
    val log = Files.createTempFile("moto", ".log")
    // It takes whichever port is free, and tells: one looked up before may be another's by then.
    val command = Seq(python.toString, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0")
    val process =
      new ProcessBuilder(command: _*).redirectErrorStream(true).redirectOutput(log.toFile).start()
    val port = toldPort(process, log)
    val emulator = new Emulator(process, port)
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

  private val Told = """Running on http://127\.0\.0\.1:(\d+)""".r

  @tailrec private def toldPort(process: Process, log: Path): Int = {
    // Waits a moment, and finds out whether there is anything to wait for.
    val ended = process.waitFor(100, TimeUnit.MILLISECONDS)
    val said = Files.readString(log)
    Told.findFirstMatchIn(said) match {
      case Some(told)    => told.group(1).toInt
      case None if ended => throw new IllegalStateException(s"moto's server ended: $said")
      case None          => toldPort(process, log)
    }
  }
}
