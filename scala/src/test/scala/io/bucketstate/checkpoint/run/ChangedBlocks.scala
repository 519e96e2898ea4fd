package io.bucketstate.checkpoint.run

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import io.bucketstate.checkpoint.io.{Damage, LittleEndian, ReadableFile}
import io.bucketstate.checkpoint.sst._

/** Files of runs that are wrong inside a block, whose checksum is right all the same. */
object ChangedBlocks {

  /** A copy of a file with one of its blocks changed. */
  def of(
      file: Array[Byte],
      random: Random
  )(change: (Array[Byte], Int, Int) => Unit): Array[Byte] = {
    val damage = new Damage("a test", "a run")
    val source = new ReadableFile {
      def length: Long = file.length.toLong
      def read(at: Long, count: Int): Array[Byte] =
        Arrays.copyOfRange(file, at.toInt, at.toInt + count)
      def close(): Unit = ()
    }
    val footer = SstFooter.read(source, damage)
    val blocks = new SstBlocks(source, footer, damage, () => false)
    val layout = SstLayout.read(blocks, footer.metaindex, damage)
    val handles = ArrayBuffer(footer.metaindex)
    def add(parts: SstParts): Unit =
      handles ++= (0 until parts.count).map(parts.place).filterNot(handles.contains)
    val lists = SstValues.byName(blocks.read(footer.metaindex, "metaindex"))
    handles += new SstBytes(lists.get(SstLayout.Index)).handle()
    add(layout.index)
    if (layout.filter != null) {
      handles += layout.filter.at
      add(SstParts.read(blocks, layout.filter, "filter"))
    }
    (0 until layout.index.count).foreach { n =>
      val places = new SstPlaces(blocks.read(layout.index.place(n), "index"))
      while (places.advance()) handles += places.place
    }
    val block = handles(random.nextInt(handles.size))
    val changed = file.clone()
    val (from, length) = (block.offset.toInt, block.size.toInt + 1)
    change(changed, from, length)
    val sum = footer.checksum.of(changed, from, length, footer.base, block.offset)
    LittleEndian.putInt(changed, from + length, sum)
    changed
  }
}
