package io.bucketstate.testkit

import java.util.concurrent.TimeUnit.SECONDS

import scala.util.Try

/**
 * Lets this process write no file beyond a size: to those who write it is as a disk that has no more room. Linux, with
 * util-linux's `prlimit`.
 */
object FileSizeLimit {

  lazy val isAvailable: Boolean = Try(call("--version")).getOrElse(false)

  def during[A](bytes: Long)(body: => A): A = {
    require(set(bytes.toString), "the limit could not be set")
    try body
    finally require(set("unlimited"), "the limit could not be taken away")
  }

  /** The soft limit, which every process may change below the hard one. */
  private def set(limit: String): Boolean =
    call("--pid", ProcessHandle.current.pid.toString, s"--fsize=$limit:")

  private def call(arguments: String*): Boolean = {
    val process = new ProcessBuilder("prlimit" +: arguments: _*)
      .redirectOutput(ProcessBuilder.Redirect.DISCARD)
      .redirectError(ProcessBuilder.Redirect.DISCARD)
      .start()
    process.waitFor(30, SECONDS) && process.exitValue == 0
  }
}
