package io.bucketstate.spark.rows;

import java.util.function.Supplier;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;

/**
 * A pair whose value is decoded when somebody asks for it: most scans of a watermark's eviction look at
 * keys alone. In Java because Scala lets nobody override a {@code var}. Not thread-safe.
 */
final class LazyValuePair extends UnsafeRowPair {
  private final Supplier<UnsafeRow> decodeValue;
  private boolean pending = false;

  /** @param decodeValue gives the value that belongs to the key set last */
  LazyValuePair(Supplier<UnsafeRow> decodeValue) {
    super(null, null);
    this.decodeValue = decodeValue;
  }

  /** Goes on to the next pair. */
  void moveTo(UnsafeRow key) {
    key_$eq(key);
    pending = true;
  }

  @Override
  public UnsafeRow value() {
    if (pending) {
      value_$eq(decodeValue.get());
    }
    return super.value();
  }

  @Override
  public void value_$eq(UnsafeRow value) {
    pending = false;
    super.value_$eq(value);
  }
}
