package io.bucketstate.bench

import java.lang.ProcessBuilder.Redirect
import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

/**
 * Fresh JVMs: this one's executable, options and class path, and temporary files of their own.
 *
 * @param options what they are given besides; of an option that comes twice, such as `-Xmx`, these count
 */
final class ChildJvm(folder: Path, options: Seq[String] = Nil) {
  private val java = Paths.get(sys.props("java.home"), "bin", "java").toString
  private val runtime = ManagementFactory.getRuntimeMXBean

  /**
   * Runs a main class to its end and parses the last line it printed.
   *
   * @throws java.lang.IllegalStateException with what was printed, if it failed
   */
  def ask[T](main: String, args: Seq[String], answer: Class[T]): T = {
    val temporary = Files.createTempDirectory(folder, "jvm-")
    val properties = Seq("java.io.tmpdir", "spark.local.dir").map(p => s"-D$p=$temporary")
    val command = (java +: runtime.getInputArguments.asScala.toSeq) ++ options ++ properties ++
      Seq("-cp", runtime.getClassPath, main) ++ args
    val process = new ProcessBuilder(command: _*).redirectError(Redirect.INHERIT).start()
    val printed = new String(process.getInputStream.readAllBytes(), UTF_8)
    if (process.waitFor() != 0)
      throw new IllegalStateException(s"$main ${args.mkString(" ")} failed:\n$printed")
    JsonReport.parse(printed.linesIterator.toSeq.last, answer)
  }
}
