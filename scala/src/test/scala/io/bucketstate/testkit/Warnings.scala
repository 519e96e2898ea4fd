package io.bucketstate.testkit

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.{Level, LogManager}

/** What the log would show whoever runs a query. */
object Warnings {

  /** Warnings and errors of loggers whose names begin so, in order. */
  def during(loggers: String)(body: => Unit): Seq[String] = {
    val found = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("warnings", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit =
        if (
          event.getLevel.isMoreSpecificThan(Level.WARN) && event.getLoggerName.startsWith(loggers)
        ) {
          found.add(event.getMessage.getFormattedMessage)
          ()
        }
    }
    appender.start()
    val root = LogManager.getRootLogger.asInstanceOf[Logger]
    root.addAppender(appender)
    try body
    finally root.removeAppender(appender)
    found.asScala.toSeq
  }
}
