package io.bucketstate.testkit

import java.io.{ByteArrayOutputStream, OutputStream}
import java.nio.file.Path
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import io.bucketstate.checkpoint.io.{FileStore, ListedFile, ReadableFile, TemporaryName}
import io.bucketstate.error.UnavailableException

/** What happens to one call of a [[FaultyFileStore]]. */
sealed trait Fault

object Fault {

  /** The call fails and has done nothing. */
  case object Before extends Fault

  /** The call does its work, and fails all the same: what a lost reply looks like. */
  case object After extends Fault

  /** A write dies half way and leaves half of a temporary file; any other call fails before. */
  case object Crash extends Fault
}

/**
 * Numbers the calls that reach a file store, from 1 on, and lets chosen ones fail. Reads of an opened
 * file count too; closing does not.
 *
 * @param watch told of each call, of closing too, before it and when it has done its work; what it throws is what the
 *              call throws
 */
final class FaultyFileStore(inner: FileStore, watch: String => Unit = _ => ()) extends FileStore {
  private val counter = new AtomicInteger
  private val faults = new ConcurrentHashMap[Int, Fault]
  private val awaited = new AtomicReference[String]
  private val done = new java.util.concurrent.ConcurrentLinkedQueue[String]

  /** How many calls there were so far. */
  def calls: Int = counter.get

  /** What the calls were, such as `write 5.changelog`. */
  def log: Seq[String] = done.toArray(Array.empty[String]).toSeq

  def failAt(call: Int, fault: Fault): Unit = {
    faults.put(call, fault)
    ()
  }

  def failNext(fault: Fault): Unit = failAt(calls + 1, fault)

  /** The next call that begins with these words, such as `write 5`, fails before it does anything. */
  def failNextOf(words: String): Unit = awaited.set(words)

  def location: String = inner.location

  def write(name: String)(body: OutputStream => Unit): Unit =
    call(s"write $name", crash(name)(body))(inner.write(name)(body))

  override def moveIn(name: String, from: Path): Boolean =
    call(s"moveIn $name")(inner.moveIn(name, from))

  def read(name: String, length: Option[Long]): Array[Byte] =
    call(s"read $name")(inner.read(name, length))

  def readPrefix(name: String, atMost: Int): Array[Byte] =
    call(s"readPrefix $name")(inner.readPrefix(name, atMost))

  def open(name: String, length: Option[Long], inOrder: Boolean): ReadableFile = {
    val file = call(s"open $name")(inner.open(name, length, inOrder))
    new ReadableFile {
      def length: Long = file.length
      def read(position: Long, count: Int): Array[Byte] =
        call(s"read $name at $position")(file.read(position, count))
      def close(): Unit = file.close()
    }
  }

  def exists(name: String): Boolean = call(s"exists $name")(inner.exists(name))

  def list(folder: String): Seq[ListedFile] = call(s"list $folder")(inner.list(folder))

  def delete(name: String): Unit = call(s"delete $name")(inner.delete(name))

  def localPath(name: String): Option[Path] = inner.localPath(name)

  def createFolder(): Unit = call("createFolder")(inner.createFolder())

  def close(): Unit =
    try watch("close")
    finally inner.close()

  private def call[A](what: String, onCrash: => Unit = ())(body: => A): A = {
    val number = counter.incrementAndGet()
    done.add(what)
    val words = awaited.get
    if (words != null && what.startsWith(words) && awaited.compareAndSet(words, null))
      failAt(number, Fault.Before)
    def failure =
      new UnavailableException(what, s"call $number was made to fail", "This is a test.")
    faults.get(number) match {
      case null =>
        watch(what)
        val done = body
        watch(s"after $what")
        done
      case Fault.Before => throw failure
      case Fault.After  =>
        body
        throw failure
      case Fault.Crash =>
        onCrash
        throw failure
    }
  }

  private def crash(name: String)(body: OutputStream => Unit): Unit = {
    val bytes = new ByteArrayOutputStream
    body(bytes)
    val id = UUID.nameUUIDFromBytes(s"$name $calls".getBytes("UTF-8"))
    inner.write(TemporaryName(name, id).name) { out =>
      out.write(bytes.toByteArray, 0, bytes.size / 2)
    }
  }
}
