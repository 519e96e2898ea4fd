package io.bucketstate.testkit

import org.apache.xbean.asm9.commons.Remapper

/** A remapper by the constructor that this Spark's ASM has. */
abstract class NameRemapper extends Remapper
