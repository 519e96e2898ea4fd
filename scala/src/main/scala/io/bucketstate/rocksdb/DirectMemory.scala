package io.bucketstate.rocksdb

import java.nio.ByteBuffer

import scala.util.control.NonFatal

/** Gives memory outside the heap back before its buffer is collected, which may be long after it is of no use. */
private[rocksdb] object DirectMemory {

  // The one door that there is to it, for libraries like this one; not known to the compiler's own platform classes.
  private[this] val cleaner =
    try {
      val unsafe = Class.forName("sun.misc.Unsafe")
      val field = unsafe.getDeclaredField("theUnsafe")
      field.setAccessible(true)
      val instance = field.get(null)
      val method = unsafe.getMethod("invokeCleaner", classOf[ByteBuffer])
      Some { (buffer: ByteBuffer) => method.invoke(instance, buffer); () }
    } catch { case NonFatal(_) => None }

  /** Nobody reads or writes it any more. Where it cannot be given back now, the collector does it. */
  def free(buffer: ByteBuffer): Unit = cleaner.foreach(_(buffer))
}
