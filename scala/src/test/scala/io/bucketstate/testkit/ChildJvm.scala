package io.bucketstate.testkit

import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Paths

import scala.jdk.CollectionConverters._

/** A main class in a process of its own, with the class path and the options of this one. */
object ChildJvm {

  /** How a child ended, and all that it said. */
  final case class Ended(exitCode: Int, output: String)

  /** One that runs. */
  final class Child private[ChildJvm] (process: Process) {

    /** Sends it the signal that no process survives. From any thread. */
    def kill(): Unit = {
      process.destroyForcibly()
      ()
    }

    /** Waits for its end. */
    def end(): Ended = {
      val output = new String(process.getInputStream.readAllBytes, UTF_8)
      Ended(process.waitFor(), output)
    }
  }

  /** What a shell sees of a process that SIGKILL has ended. */
  val Killed = 137

  def run(main: AnyRef, arguments: String*): Ended = start(main, arguments: _*).end()

  def start(main: AnyRef, arguments: String*): Child = {
    val options = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filter(o => o.startsWith("--add-opens") || o.startsWith("-XX:+Ignore"))
    val java = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val name = main.getClass.getName.stripSuffix("$")
    val command = Seq(java, "-Xmx512m", "-cp", System.getProperty("java.class.path")) ++
      options ++ Seq(name) ++ arguments
    val process = new ProcessBuilder(command.asJava).redirectErrorStream(true).start()
    process.getOutputStream.close()
    new Child(process)
  }
}
