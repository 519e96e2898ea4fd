package io.bucketstate.rocksdb

import java.lang.ProcessBuilder.Redirect.DISCARD
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit.SECONDS

import scala.jdk.CollectionConverters._

import org.scalatest.Assertions.intercept

import io.bucketstate.error.UnavailableException
import io.bucketstate.rocksdb.state.OptionsCheck
import io.bucketstate.testkit.{TempFolder, TidySuite}

class NativeLibrarySuite extends TidySuite {

  /** What comes of it in a process of its own: once loaded, the library stays. */
  private def tried(libraries: Path, out: Path): Seq[String] = {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val main = TryNativeLibrary.getClass.getName.stripSuffix("$")
    val child =
      new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), main, out.toString)
    child.environment.put("ROCKSDB_SHAREDLIB_DIR", libraries.toString)
    child.redirectOutput(DISCARD).redirectError(DISCARD)
    val process = child.start()
    try assert(process.waitFor(60, SECONDS) && process.exitValue == 0)
    finally process.destroy()
    Files.readAllLines(out).asScala.toSeq
  }

  test("where the library cannot be loaded each attempt is told so, with what to do") {
    TempFolder.use { folder =>
      val said = tried(folder.resolve("nowhere"), folder.resolve("said"))
      assert(said.sizeIs == TryNativeLibrary.Attempts)
      said.foreach { line =>
        assert(line.contains("engine=rocksdb: RocksDB's native library cannot be loaded"))
        assert(line.contains("ROCKSDB_SHAREDLIB_DIR") && line.contains("engine=heap"))
      }
    }
  }
}

/** Checks options that are right, and writes into a file what that throws, a line for each attempt. */
object TryNativeLibrary {
  val Attempts = 3

  def main(args: Array[String]): Unit = {
    val said = (1 to Attempts).map { _ =>
      intercept[UnavailableException](OptionsCheck.require(Databases.Plain)).getMessage
    }
    Files.write(Path.of(args(0)), said.asJava)
    ()
  }
}
