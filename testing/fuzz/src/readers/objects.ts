import { retryDelayMs } from '@csi-sidecars/csi/readers'
import { decodeListMessage, NoListError } from '@csi-sidecars/kube-client/readers'
import {
  CSI_NODE_MESSAGE,
  NODE_MESSAGE,
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_MESSAGE,
  POD_MESSAGE,
  ProtobufError,
  ProtobufReader,
  VOLUME_ATTACHMENT_MESSAGE,
  VOLUME_ATTRIBUTES_CLASS_MESSAGE,
} from '@csi-sidecars/kube-types'
import { attempt, type BytesReader, field } from '../reader.ts'
import { volumeMessage } from './api-server.ts'

const MESSAGES = [
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  POD_MESSAGE,
  VOLUME_ATTACHMENT_MESSAGE,
  CSI_NODE_MESSAGE,
  NODE_MESSAGE,
  VOLUME_ATTRIBUTES_CLASS_MESSAGE,
]

export const protobufObjects: BytesReader = {
  name: 'protobuf-objects',
  seeds: [volumeMessage(), Buffer.concat([Buffer.from('k8s\0'), Buffer.of(18, 4, 10, 0, 18, 0)])],
  keywords: [
    ...['k8s\0', '__proto__', 'storage', '1Gi'],
    ...[8, 10, 18, 26, 34].map((byte) => Buffer.of(byte)),
    ...Array.from({ length: 24 }, (_, number) => Buffer.of(number * 8 + 2, 2)),
    Buffer.from('ffffffffffffffffff01', 'hex'),
    Buffer.from('ffffffffffffffffffff', 'hex'),
  ],
  read: (input) => {
    for (const message of MESSAGES) {
      const reader = new ProtobufReader(input)
      const read = attempt(
        () => JSON.stringify(message(reader, input.length)),
        (error) => error instanceof ProtobufError,
      )
      if ('value' in read && reader.at !== input.length) throw new Error('an object ends where its message ends')
      attempt(
        () => [...decodeListMessage(input, message).objects],
        (error) => error instanceof NoListError,
      )
    }
  },
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'
const HALF_A_SECOND = Buffer.of(16, 0x80, 0xca, 0xb5, 0xee, 0x01)
/** The number -1 as a protobuf varint of ten bytes. */
const MINUS_ONE = Buffer.from('ffffffffffffffffff01', 'hex')

/** Encodes a `google.rpc.Status` with one RetryInfo. */
const statusWith = (duration: Buffer): Buffer =>
  field(3, Buffer.concat([field(1, RETRY_INFO), field(2, field(1, duration))]))

export const statusDetails: BytesReader = {
  name: 'status-details',
  seeds: [
    Buffer.concat([Buffer.of(8, 8), field(2, 'x'), statusWith(HALF_A_SECOND)]),
    statusWith(Buffer.concat([Buffer.of(8), MINUS_ONE])),
  ],
  keywords: [RETRY_INFO, HALF_A_SECOND, Buffer.of(26), Buffer.of(8), Buffer.of(16), MINUS_ONE],
  read: (input) => {
    const ms = retryDelayMs(input)
    if (ms !== undefined && !(Number.isFinite(ms) && ms >= 0)) throw new Error(`${ms} is no wait`)
  },
}
