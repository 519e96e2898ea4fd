package io.bucketstate.checkpoint.sst

import scala.util.Random

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.sst.hash.Xxph3
import io.bucketstate.testkit.TidySuite

/** The filter alone; that RocksDB's is the same is told by `SstWriterSuite` and `RunFileReaderSuite`. */
class SstFilterSuite extends TidySuite {

  private def hashes(random: Random, count: Int): Seq[Long] = Seq.fill(count) {
    val key = new Array[Byte](4 + random.nextInt(40))
    random.nextBytes(key)
    Xxph3.hash(key, key.length)
  }

  private def filterOf(hashes: Seq[Long], bits: Int = 10): ByteSlice = {
    val builder = new SstFilter.Builder(bits)
    hashes.foreach(builder.add)
    new ByteSlice(builder.build(3), 0, builder.length)
  }

  test("no key of the file is denied, and about one in a hundred others is not") {
    for (count <- Seq(1, 2, 50, 1000, 200_000)) {
      val random = new Random(count.toLong)
      val all = hashes(random, count)
      val filter = filterOf(all)
      assert(all.forall(SstFilter.mayHave(filter, _)))
      assert(filter.length < count * 10 / 8 + 100)
      val wrong = hashes(random, 100_000).count(SstFilter.mayHave(filter, _))
      if (count >= 1000) assert(wrong > 700 && wrong < 1300, count)
      else assert(wrong < 1300, count)
    }
  }

  test("more bits deny more, and no number of them denies a key of the file") {
    val random = new Random(1)
    val (all, others) = (hashes(random, 20_000), hashes(random, 50_000))
    val wrong = (1 to 30).map { bits =>
      val filter = filterOf(all, bits)
      assert(
        all.forall(SstFilter.mayHave(filter, _)) && filter.length < all.size * bits / 8 + 100,
        bits
      )
      others.count(SstFilter.mayHave(filter, _))
    }
    // From a third of them to one in a thousand, each number of bits less than two before it.
    assert(wrong.zip(wrong.drop(2)).take(16).forall { case (some, fewer) => fewer < some }, wrong)
    assert(wrong(0) < 40_000 && wrong(4) < 6500 && wrong(14) < 100 && wrong(29) < 15, wrong)
  }

  test("a filter of another kind denies nothing") {
    val builder = new SstFilter.Builder(10)
    builder.add(1)
    val bytes = builder.build(0)
    def denies(filter: ByteSlice) = hashes(new Random(1), 50).exists(!SstFilter.mayHave(filter, _))
    for {
      i <- 64 until 69
      b <- Seq[Byte](0, 31, 32, 1, -2)
    } {
      val other = bytes.clone()
      other(i) = b
      val same = other.sameElements(bytes)
      val expected = same || (i == 66 && b == 1)
      assert(denies(new ByteSlice(other, 0, other.length)) == expected, s"$i, $b")
    }
    for (n <- 0 until 69)
      assert(!denies(new ByteSlice(bytes, 0, n)), n)
  }
}
