import { retryDelayMs } from '@csi-sidecars/csi/readers'
import { type BytesReader, field } from '../reader.ts'

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'
const HALF_A_SECOND = Buffer.of(16, 0x80, 0xca, 0xb5, 0xee, 0x01)
/** A varint of ten bytes. */
const MINUS_ONE = Buffer.from('ffffffffffffffffff01', 'hex')

/** google.rpc.Status with one detail. */
const statusWith = (duration: Buffer): Buffer =>
  field(3, Buffer.concat([field(1, RETRY_INFO), field(2, field(1, duration))]))

export const statusDetails: BytesReader = {
  name: 'status-details',
  seeds: [
    Buffer.concat([Buffer.of(8, 8), field(2, 'x'), statusWith(HALF_A_SECOND)]),
    statusWith(Buffer.concat([Buffer.of(8), MINUS_ONE])),
  ],
  words: [RETRY_INFO, HALF_A_SECOND, Buffer.of(26), Buffer.of(8), Buffer.of(16), MINUS_ONE],
  read: (input) => {
    const ms = retryDelayMs(input)
    if (ms !== undefined && !(Number.isFinite(ms) && ms >= 0)) throw new Error(`${ms} is no wait`)
  },
}
