package io.bucketstate.bench

import java.nio.file.{Files, Path}

import scala.collection.immutable.ListMap

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}
import com.fasterxml.jackson.module.scala.DefaultScalaModule

/** Results for machines. */
object JsonReport {

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
    val mapper = new ObjectMapper()
      .registerModule(DefaultScalaModule)
      .enable(SerializationFeature.INDENT_OUTPUT)
    mapper.writeValue(
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
