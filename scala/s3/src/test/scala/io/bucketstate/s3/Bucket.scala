package io.bucketstate.s3

import java.net.URI
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileSystem

/** A bucket in an emulator behind a proxy, and how S3A gets there. One for a suite. */
final class Bucket extends AutoCloseable {
  private[this] val emulator = Emulator.start()
  val proxy: CountingProxy = new CountingProxy(emulator.port)

  /** Hadoop's settings. Failed requests are made again soon. */
  val settings: Seq[(String, String)] = Seq(
    "impl" -> "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "endpoint" -> s"http://127.0.0.1:${proxy.port}",
    "endpoint.region" -> "us-east-1",
    "path.style.access" -> "true",
    "connection.ssl.enabled" -> "false",
    "aws.credentials.provider" -> "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "access.key" -> "test",
    "secret.key" -> "test",
    "multipart.size" -> "5M",
    "attempts.maximum" -> "1",
    "retry.limit" -> "3",
    "retry.interval" -> "5ms",
    "retry.throttle.limit" -> "3",
    "retry.throttle.interval" -> "5ms"
  ).map { case (key, value) => s"fs.s3a.$key" -> value }

  /** The same for a Spark session. */
  def sparkSettings: Seq[(String, String)] = settings.map { case (k, v) => s"spark.hadoop.$k" -> v }

  def configure(conf: Configuration): Unit = {
    conf.addResource("core-default.xml")
    settings.foreach { case (k, v) => conf.set(k, v) }
  }

  private[this] def hadoop: Configuration = {
    val conf = new Configuration(false)
    configure(conf)
    conf
  }

  /** A place that nothing else is at. */
  def newLocation(): String = s"s3a://${Emulator.Bucket}/${UUID.randomUUID()}"

  override def close(): Unit = {
    // Hadoop keeps one client for the bucket's name, which the next suite's would be asked through.
    FileSystem.get(URI.create(s"s3a://${Emulator.Bucket}"), hadoop).close()
    proxy.close()
    emulator.close()
  }
}
