package io.bucketstate.bench

import java.lang.management.ManagementFactory

import scala.collection.mutable

import com.sun.management.OperatingSystemMXBean

/**
 * Processor time in nanoseconds: of the whole process, collector and compiler included, and of this
 * provider's background threads alone, which are known by their names. Used by the one thread that runs
 * the batches.
 */
final class ProcessorTime {
  import ProcessorTime._

  private val threads = ManagementFactory.getThreadMXBean
  private val system = ManagementFactory.getOperatingSystemMXBean match {
    case known: OperatingSystemMXBean => known
    case other => throw new IllegalStateException(s"$other tells no processor time")
  }
  private val ofThread = mutable.LongMap.empty[Long]
  private var background = 0L
  private var began = system.getProcessCpuTime
  private var beside = 0L

  /** Does what is the benchmark's own; what that takes of this thread is not counted. */
  def aside[T](work: => T): T = {
    val start = threads.getCurrentThreadCpuTime
    val result = work
    beside += threads.getCurrentThreadCpuTime - start
    result
  }

  /** Counts anew from now on. */
  def restart(): Unit = {
    look()
    background = 0L
    beside = 0L
    began = system.getProcessCpuTime
  }

  def ofProcess: Long = system.getProcessCpuTime - began - beside

  /**
   * Of the background threads. What a thread does between the last call and its end is lost, so this is
   * to be called after every batch; they idle for seconds before they end.
   */
  def ofBackground(): Long = {
    look()
    background
  }

  private def look(): Unit =
    for {
      info <- threads.getThreadInfo(threads.getAllThreadIds)
      if info != null && info.getThreadName.startsWith(Prefix)
    } {
      val id = info.getThreadId
      val now = threads.getThreadCpuTime(id)
      if (now > 0) { // not of a thread that has just ended
        background += now - ofThread.getOrElse(id, 0L)
        ofThread(id) = now
      }
    }
}

private object ProcessorTime {
  val Prefix = "bucketstate"
}
