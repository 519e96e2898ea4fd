package io.bucketstate.testkit

import java.io.{FileOutputStream, IOException}
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit.SECONDS

import scala.util.{Try, Using}

/** A file system of its own that is soon full, and can be made read-only. Linux, for who may mount one. */
final class SmallDisk private (val folder: Path) {

  def resize(size: String): Unit = remount(s"size=$size")

  /** What is open for writing is in the way of it: then this fails. */
  def readOnly(): Unit = remount("ro")

  def writable(): Unit = remount("rw")

  /** Takes all the room that is left, until `empty`. */
  def fill(): Unit =
    Using.resource(new FileOutputStream(filler.toFile)) { out =>
      try while (true) out.write(new Array[Byte](4096))
      catch { case _: IOException => () }
    }

  def empty(): Unit = Files.delete(filler)

  private def filler = folder.resolve("of others")

  private def remount(option: String): Unit =
    require(SmallDisk.call("mount", "-o", s"remount,$option", folder.toString), s"no $option")
}

object SmallDisk {

  lazy val isAvailable: Boolean = Try(use("64k")(_ => ())).isSuccess

  /** @param size as `mount` takes it, such as `512k` */
  def use[A](size: String)(body: SmallDisk => A): A = TempFolder.use { folder =>
    val at = folder.toString
    require(call("mount", "-t", "tmpfs", "-o", s"size=$size", "tmpfs", at), "nothing was mounted")
    try body(new SmallDisk(folder))
    // Also while a file is open on it, which tests are to find in other ways.
    finally require(call("umount", "--lazy", at), s"$at is still there")
  }

  private def call(command: String*): Boolean = {
    val process = new ProcessBuilder(command: _*)
      .redirectOutput(ProcessBuilder.Redirect.DISCARD)
      .redirectError(ProcessBuilder.Redirect.DISCARD)
      .start()
    process.waitFor(30, SECONDS) && process.exitValue == 0
  }
}
