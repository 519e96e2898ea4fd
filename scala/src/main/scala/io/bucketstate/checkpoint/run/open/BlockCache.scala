package io.bucketstate.checkpoint.run.open

import java.util.ArrayDeque
import java.util.concurrent.ConcurrentHashMap

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.run.ReadFigures

/**
 * Blocks as they were last read, verified and decompressed, of the files of all stores of this process: data, and parts of
 * indexes and filters. Each one's bytes count for its file's store as long as it is here. Thread-safe; to get one waits
 * for nobody.
 *
 * Blocks go in the order in which they came, but those that were used since they were last looked at have another turn.
 * Data blocks may have a quarter, and make room for the others first: a part of a filter or of an index serves a
 * hundred times as many keys, and where keys themselves are kept, as many bytes serve more look-ups than data blocks do.
 */
private[run] final class BlockCache {
  import BlockCache._

  private[this] val blocks = new ConcurrentHashMap[Block, Block]
  // What follows is for one thread at a time.
  private[this] val data = new Turns
  private[this] val parts = new Turns
  private[this] var lists = 0L // bytes that open files have besides
  @volatile private[this] var most = 0L

  /** Bytes of parts of indexes and filters, and of the lists of these. */
  def partBytes: Long = synchronized(parts.bytes + lists)

  /** Bytes that it may have. */
  def limit(bytes: Long): Unit = synchronized {
    most = bytes
    makeRoom()
  }

  /** The block at a place in a file, or null. */
  def get(file: OpenRunFile, offset: Long): ByteSlice = {
    val found = blocks.get(new Block(file, offset, null))
    if (found == null) null
    else {
      if (!found.isUsed) found.isUsed = true
      found.bytes
    }
  }

  /** @param isData else it is a part of an index or a filter */
  def put(file: OpenRunFile, offset: Long, bytes: ByteSlice, isData: Boolean): Unit = {
    val block = new Block(file, offset, bytes)
    if (block.weight <= most) synchronized {
      // Whoever gives a file up says so before its blocks are removed.
      if (!file.isGivenUp && blocks.putIfAbsent(block, block) == null) {
        file.figures.took(block.weight)
        (if (isData) data else parts).add(block)
        makeRoom()
      }
    }
  }

  /** An open file has a list of its parts in memory, whatever room there is. */
  def holds(file: OpenRunFile, bytes: Long): Unit = if (bytes > 0) synchronized {
    file.figures.took(bytes)
    lists += bytes
    makeRoom()
  }

  /** It has it no more. */
  def gaveBack(file: OpenRunFile, bytes: Long): Unit = if (bytes > 0) synchronized {
    file.figures.took(-bytes)
    lists -= bytes
  }

  /** Blocks of files of these figures, or that were given up, leave. O(blocks). */
  def forget(figures: ReadFigures): Unit = forget(b => (b.file.figures eq figures) || isGone(b))

  /** Blocks of files that were given up leave. O(blocks). */
  def forgetGivenUp(): Unit = forget(b => isGone(b))

  private def isGone(block: Block) = block.file.isGivenUp

  private def forget(goes: Block => Boolean): Unit = synchronized {
    Seq(data, parts).foreach { turns =>
      var left = turns.count
      while (left > 0) {
        val block = turns.take()
        if (goes(block)) remove(block) else turns.add(block)
        left -= 1
      }
    }
  }

  private def makeRoom(): Unit = {
    while (
      data.count > 0 &&
      (data.bytes > most / PartForData || data.bytes + parts.bytes + lists > most)
    ) remove(data.leastUsed())
    while (parts.count > 0 && parts.bytes + lists > most) remove(parts.leastUsed())
  }

  private def remove(block: Block): Unit = {
    blocks.remove(block)
    block.file.figures.took(-block.weight)
  }
}

private object BlockCache {

  /** More would be missing where keys themselves are kept. */
  private final val PartForData = 4L

  /** About what a block takes besides its bytes: its place here, and in two tables. */
  private final val EntryBytes = 128L

  /** Equal to another of the same place, which has no bytes if it only asks for this one. */
  private final class Block(val file: OpenRunFile, val offset: Long, val bytes: ByteSlice) {
    @volatile var isUsed = false

    def weight: Long = bytes.array.length + EntryBytes

    override def hashCode: Int = file.hashCode * 0x9e3779b9 + java.lang.Long.hashCode(offset)

    override def equals(other: Any): Boolean = other match {
      case that: Block => (that.file eq file) && that.offset == offset
      case _           => false
    }
  }

  /** Blocks in the order of their turns to go. For one thread at a time. */
  private final class Turns {
    private[this] val queue = new ArrayDeque[Block]
    private[this] var sum = 0L

    def count: Int = queue.size

    def bytes: Long = sum

    def add(block: Block): Unit = {
      queue.addLast(block)
      sum += block.weight
    }

    /** The next one. */
    def take(): Block = {
      val block = queue.pollFirst()
      sum -= block.weight
      block
    }

    /** The next one that was not used since its last turn, or any if all are in use. */
    def leastUsed(): Block = {
      var block = take()
      var left = count
      while (block.isUsed && left > 0) {
        block.isUsed = false
        add(block)
        block = take()
        left -= 1
      }
      block
    }
  }
}
