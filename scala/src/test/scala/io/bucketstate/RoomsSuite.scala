package io.bucketstate

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

/** Dependencies between the rooms point one way; docs/architecture.md draws them. */
class RoomsSuite extends AnyFunSuite {
  private val root = Path.of("scala/src/main/scala/io/bucketstate")

  /** What a room may import of the project besides itself. */
  private val allowed = Map(
    "error" -> Set.empty[String],
    "config" -> Set("error"),
    "bucket" -> Set("error"),
    "table" -> Set("error", "bucket"),
    "checkpoint" -> Set("error", "bucket", "config", "table"),
    "spark" -> Set("error", "bucket", "config", "table", "checkpoint")
  )

  private val sparkStreaming = "org.apache.spark.sql.execution.streaming.state"

  private def sources(room: String): Seq[Path] = {
    val files = Files.walk(root.resolve(room))
    try files.iterator.asScala.filter(_.toString.endsWith(".scala")).toList
    finally files.close()
  }

  private def lines(file: Path): Seq[String] = Files.readAllLines(file).asScala.toSeq

  test("every room is listed") {
    val rooms = Files.list(root)
    try
      assert(
        rooms.iterator.asScala.filter(Files.isDirectory(_)).map(_.getFileName.toString).toSet ==
          allowed.keySet
      )
    finally rooms.close()
  }

  for ((room, others) <- allowed)
    test(s"$room imports only itself and ${others.toSeq.sorted.mkString(", ")}") {
      val own = "io\\.bucketstate\\.([a-z]+)".r
      sources(room).foreach { file =>
        lines(file).filterNot(_.startsWith("package ")).foreach { line =>
          own.findAllMatchIn(line).map(_.group(1)).foreach { used =>
            assert(used == room || others(used), s"$file: $line")
          }
        }
      }
    }

  test("only the spark room knows Spark's state store traits and rows") {
    for {
      room <- allowed.keys if room != "spark"
      file <- sources(room)
      line <- lines(file)
    }
      assert(!line.contains(sparkStreaming) && !line.contains("UnsafeRow"), s"$file: $line")
  }

  test("table, bucket and config know no files of a checkpoint") {
    for {
      room <- Seq("table", "bucket", "config")
      file <- sources(room)
      line <- lines(file)
    }
      assert(!line.contains("org.apache.hadoop"), s"$file: $line")
  }
}
