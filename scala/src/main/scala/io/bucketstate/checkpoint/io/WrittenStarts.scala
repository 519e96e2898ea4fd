package io.bucketstate.checkpoint.io

import java.io.{ByteArrayOutputStream, OutputStream}
import java.util.{LinkedHashMap, Map => JavaMap}

/**
 * The first bytes of files that this process wrote last, of those whose names are written once only: what
 * they begin with need not be asked for. Thread-safe.
 */
private[io] final class WrittenStarts {
  import WrittenStarts._

  private[this] val starts = new LinkedHashMap[String, Array[Byte]] {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Array[Byte]]): Boolean =
      size > Most
  }

  /** The first bytes of a file, or all of a shorter one, if they are known. */
  def of(name: String, atMost: Int): Option[Array[Byte]] =
    if (atMost > Length) None
    else synchronized(Option(starts.get(name))).map(_.take(atMost))

  /** Writes by `body`, and keeps how it began when that is done; what `write` throws is thrown. */
  def keeping[A](name: String, body: OutputStream => Unit)(
      write: (OutputStream => Unit) => A
  ): A =
    if (!isWrittenOnce(name)) write(body)
    else {
      val start = new ByteArrayOutputStream(Length)
      val done = write(out => body(new Splitting(out, start)))
      synchronized(starts.put(name, start.toByteArray))
      done
    }

  def forget(names: Iterable[String]): Unit = synchronized(names.foreach(starts.remove))

  private def isWrittenOnce(name: String): Boolean = CheckpointFiles.parse(name) match {
    case Some(changelog: ChangelogName) => changelog.checkpointId.isDefined
    case _                              => false
  }
}

private object WrittenStarts {

  /** More than any header of a changelog has. */
  private final val Length = 512

  /** As many as a snapshot and retention go back, and some. */
  private final val Most = 64

  /** Writes to `out`, and the first bytes to `start`, too. */
  private final class Splitting(out: OutputStream, start: ByteArrayOutputStream)
      extends OutputStream {

    override def write(byte: Int): Unit = {
      if (start.size < Length) start.write(byte)
      out.write(byte)
    }

    override def write(bytes: Array[Byte], from: Int, count: Int): Unit = {
      val kept = math.min(count, Length - start.size)
      if (kept > 0) start.write(bytes, from, kept)
      out.write(bytes, from, count)
    }
  }
}
