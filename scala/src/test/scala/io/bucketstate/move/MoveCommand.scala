package io.bucketstate.move

import io.bucketstate.Move
import io.bucketstate.testkit.{ChildJvm, KillingFileManager}

/**
 * The command that moves a checkpoint, as a process of its own, with a session's settings and the words of the command. It
 * prints how many files a [[KillingFileManager]] let it publish.
 */
object MoveCommand {
  private val Published = "PUBLISHED ([0-9]+)".r

  def start(settings: Seq[(String, String)], words: Seq[String]): ChildJvm.Child = {
    val all = Session ++ settings
    ChildJvm.start(this, all.map { case (key, value) => s"$key=$value" } ++ words: _*)
  }

  /** How many files a command has published that came to its end. */
  def published(ended: ChildJvm.Ended): Int = {
    assert(ended.exitCode == 0, ended.output)
    ended.output.linesIterator.collectFirst { case Published(n) => n.toInt }.get
  }

  def main(arguments: Array[String]): Unit = {
    val (settings, words) = arguments.toSeq.span(_.startsWith("spark."))
    settings.foreach { setting =>
      val key = setting.takeWhile(_ != '=')
      System.setProperty(key, setting.drop(key.length + 1))
    }
    Move.main(words.toArray)
    Console.out.print(s"PUBLISHED ${KillingFileManager.published.get}\n")
    Console.out.flush()
  }

  private val Session = Seq(
    "spark.master" -> "local[2]",
    "spark.ui.enabled" -> "false",
    "spark.driver.host" -> "127.0.0.1",
    "spark.driver.bindAddress" -> "127.0.0.1"
  )
}
