package org.apache.spark.ui.bucketstate

import org.apache.spark.status.KVUtils

import io.bucketstate.testkit.TidySuite

/** What the history server keeps of an application goes through Spark's stores, however long it is. */
class KeptTextSuite extends TidySuite {
  private val serializer = new KVUtils.KVStoreScalaSerializer

  private def through(piece: KeptText): KeptText =
    serializer.deserialize(serializer.serialize(piece), classOf[KeptText])

  /** Whether a text is cut into so many pieces, and is the same afterwards. */
  private def assertKept(text: String, pieces: Int): Unit = {
    val cut = KeptText.of(text)
    assert(cut.size == pieces)
    val read = cut.reverse.map(through)
    assert(read.map(_.id).toSet == cut.map(_.id).toSet)
    assert(KeptText.textOf(read).contains(text))
    ()
  }

  test("a text that is longer than what Spark's store reads as one") {
    assertKept("0123456789 \" \u00e9" * 1500000 + "and the end", 22)
  }

  test("a text of the length of some pieces, and one without characters") {
    assertKept("", 1)
    assertKept("a" * (2 * KeptText.Longest), 2)
    assertKept("a" * (2 * KeptText.Longest + 1), 3)
    assert(KeptText.textOf(Nil).isEmpty)
  }

  test("a character that is two of Java's is not cut") {
    val face = "\ud83d\ude00"
    for (before <- 0 to 2) assertKept("a" * (KeptText.Longest - before) + face * 3 + "z", 2)
  }

  test("a text that was kept before texts were cut is read") {
    val old = serializer.deserialize(serializer.serialize(new Uncut("it")), classOf[KeptText])
    assert(old.id == "bucketstate" && KeptText.textOf(Seq(old)).contains("it"))
  }
}

/** What was kept before. */
private final class Uncut(val text: String)
