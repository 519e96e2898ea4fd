package io.bucketstate.testkit

import org.apache.xbean.asm9.Opcodes
import org.apache.xbean.asm9.commons.Remapper

/** A remapper by the constructor that is not deprecated, which older ones of Spark's ASM have not. */
abstract class NameRemapper extends Remapper(Opcodes.ASM9)
