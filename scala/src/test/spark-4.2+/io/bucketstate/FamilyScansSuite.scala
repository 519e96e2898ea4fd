package io.bucketstate

import io.bucketstate.testkit.FamilyRows._
import io.bucketstate.testkit.{FamilyRows, ProviderHarness, TidySuite}

/** Scans of column families, while other scans and changes go on beside them. */
class FamilyScansSuite extends TidySuite with FamilyRows {

  test("scans of one family side by side leave each other's rows alone") {
    withFamilies { (_, store) =>
      families.foreach { family =>
        names.foreach(name =>
          times.foreach(t => store.put(keyRow((name, t)), valueRow(t.toByte.toInt), family.name))
        )
        val (outer, inner) = (store.iterator(family.name), store.iterator(family.name))
        outer.zip(inner.drop(3)).foreach { case (one, other) =>
          assert(valueOf(one.value) == keyOf(one.key)._2.toByte.toInt)
          assert(valueOf(other.value) == keyOf(other.key)._2.toByte.toInt)
          assert(keyOf(one.key) != keyOf(other.key))
          assert(store.get(one.key, family.name) == one.value)
        }
      }
    }
  }

  test("several values of keys stay as they are while the scan goes on, and so does what get gave") {
    withFamilies { (_, store) =>
      families.filter(f => f.kind == Last && f.lists).foreach { family =>
        times.foreach(t => store.put(keyRow(("a", t)), valueRow(t.toByte.toInt), family.name))
        val scan = store.prefixScanWithMultiValues(row(toName, "a"), family.name)
        assert(scan.map(_.value).toSeq.map(valueOf) == times.map(_.toByte.toInt))
        val got = times.map(t => store.get(keyRow(("a", t)), family.name))
        assert(got.map(valueOf) == times.map(_.toByte.toInt))
      }
    }
  }

  test("a read store gives the keys of a prefix one after the other") {
    ProviderHarness.withFolder { folder =>
      val provider = new ProviderHarness(folder, families = true).provider()
      val byPrefix = families.filter(f => (f.kind == Prefix || f.kind == Last) && !f.lists)
      val written = for {
        t <- Seq(1L, -1L, 7L)
        n <- 0 until 400
      } yield (s"name $n", t)
      val store = provider.getStore(0)
      byPrefix.foreach { family =>
        family.make(store)
        written.foreach(k => store.put(keyRow(k), valueRow(k._2.toInt), family.name))
      }
      store.commit()
      val read = provider.getReadStore(1)
      byPrefix.foreach { family =>
        val found = read.iterator(family.name).map(p => (keyOf(p.key), valueOf(p.value))).toSeq
        assert(found.map(_._1).toSet == written.toSet && found.size == written.size)
        assert(found.forall { case (key, value) => value == key._2.toInt })
        val inOrder = found.map(_._1._1)
        assert(inOrder.zip(inOrder.drop(1)).count { case (one, next) => one != next } == 399)
      }
      read.release()
      provider.close()
    }
  }

  test("a scan of nothing stays empty when something is put in") {
    withFamilies { (_, store) =>
      families.foreach { family =>
        val name = family.name
        val scans = store.iterator(name) +: (family.kind match {
          case Prefix | Last => Seq(store.prefixScan(row(toName, "a"), name))
          case Range | First => Seq(store.rangeScan(None, None, name))
          case _             => Nil
        })
        times.foreach(t => store.put(keyRow(("a", t)), valueRow(1), name))
        assert(scans.map(_.size) == scans.map(_ => 0), name)
      }
    }
  }

  test("a scan goes on while what it scans is removed and added to") {
    withFamilies { (_, store) =>
      families.filterNot(_.kind == Plain).foreach { family =>
        times.foreach(t => store.put(keyRow(("a", t)), valueRow(1), family.name))
        val seen = store
          .iterator(family.name)
          .map { pair =>
            val key = pair.key.copy()
            store.remove(key, family.name)
            store.put(keyRow(("b", keyOf(key)._2)), valueRow(2), family.name)
            keyOf(key)
          }
          .filter(_._1 == "a")
          .toSet
        assert(seen == times.map(("a", _)).toSet)
        assert(
          store.iterator(family.name).map(p => keyOf(p.key)).toSet == times.map(("b", _)).toSet
        )
      }
    }
  }
}
