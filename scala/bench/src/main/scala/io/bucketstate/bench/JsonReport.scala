package io.bucketstate.bench

import java.nio.file.{Files, Path}

import scala.collection.immutable.ListMap

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}
import com.fasterxml.jackson.module.scala.DefaultScalaModule

/** Results for machines. */
object JsonReport {
  private val mapper = new ObjectMapper().registerModule(DefaultScalaModule)

  /** What one JVM of a benchmark tells another, in one line. */
  def line(value: Product): String = mapper.writeValueAsString(value)

  /** @throws com.fasterxml.jackson.core.JacksonException if the line is not of such a value */
  def parse[T](line: String, kind: Class[T]): T = mapper.readValue(line, kind)

  /** Writes the file that the options name, if they do, and says so. */
  def write(results: Seq[Product], targets: Seq[TargetOutcome], options: BenchOptions): Unit =
    options.json.foreach { file =>
      write(results, targets, options, file)
      Host.say(s"\nWritten: $file")
    }

  private def write(
      results: Seq[Product],
      targets: Seq[TargetOutcome],
      options: BenchOptions,
      file: Path
  ): Unit = {
    Option(file.toAbsolutePath.getParent).foreach(Files.createDirectories(_))
    mapper
      .writer(SerializationFeature.INDENT_OUTPUT)
      .writeValue(
        file.toFile,
        ListMap(
          "workload" -> ListMap[String, Any](
            "batches" -> options.batches,
            "warmUp" -> options.warmUp,
            "updates" -> options.updates,
            "maintenanceEvery" -> options.maintenanceEvery,
            "rounds" -> options.rounds,
            "seed" -> options.seed,
            "filesystem" -> options.fileAccess.name,
            "heap" -> options.heap,
            "settings" -> options.settings.toMap
          ),
          "host" -> ListMap[String, Any](
            "java" -> sys.props("java.version"),
            "processors" -> Runtime.getRuntime.availableProcessors,
            "maxHeapBytes" -> Runtime.getRuntime.maxMemory
          ),
          "results" -> results,
          "targets" -> targets
        )
      )
  }
}
