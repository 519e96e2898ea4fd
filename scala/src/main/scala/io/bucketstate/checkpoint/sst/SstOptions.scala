package io.bucketstate.checkpoint.sst

import io.bucketstate.checkpoint.io.BlockCodec
import io.bucketstate.config.{ConfigKey, StoreConfig}

/**
 * How runs are written.
 *
 * @param codec      what blocks are compressed with, as far as RocksDB knows it; else they are with LZ4
 * @param blockBytes a data block ends with the record that takes it to so many bytes, raw
 * @param bloomBits  bits of filter for each key, 0 for no filter
 */
final case class SstOptions(
    codec: BlockCodec,
    blockBytes: Int,
    bloomBits: Int = ConfigKey.RunBloomBits.default.toInt
)

object SstOptions {

  /** What a store's settings say. */
  def of(config: StoreConfig): SstOptions = SstOptions(
    BlockCodec.forName(config.spark.compressionCodec),
    config.runBlockBytes,
    config.bloomBits
  )
}
