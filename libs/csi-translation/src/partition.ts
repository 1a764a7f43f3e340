import { quoted } from './go-text.ts'
import { TranslationError } from './translation-error.ts'

const INT64 = 2n ** 63n

/** The partition number in a text. `verb` opens the message: upstream's two plugins spell it differently. */
export function partitionOf(text: string, verb: 'failed' | 'Failed'): number {
  const number = /^[+-]?[0-9]+$/.test(text) ? BigInt(text.replace('+', '')) : undefined
  if (number === undefined) throw badPartition(text, verb, 'invalid syntax')
  if (number >= INT64 || number < -INT64) throw badPartition(text, verb, 'value out of range')
  return Number(BigInt.asIntN(32, number))
}

function badPartition(text: string, verb: string, reason: string): TranslationError {
  return new TranslationError(
    'BAD_PARTITION',
    `${verb} to convert partition ${text} to integer: strconv.Atoi: parsing ${quoted(text)}: ${reason}`,
  )
}
