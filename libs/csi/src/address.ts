const UNIX = 'unix://'

/** An address that is no unix socket. The text is upstream's, which speaks of its own implementation. */
export class AddressError extends Error {
  override readonly name = 'AddressError'

  constructor() {
    super('OnConnectionLoss callback only supported for unix:// addresses')
  }
}

/** A unix socket as it is printed (`unix:///csi/csi.sock`), from that form or from its bare path. */
export function socketAddressOf(address: string): string {
  if (address.startsWith('/')) return UNIX + address
  if (address.startsWith(UNIX)) return address
  throw new AddressError()
}

/** Where the socket is. Leading slashes become one: grpc-js would take the first part of `//a/b` for a host. */
export function pathOf(socketAddress: string): string {
  return socketAddress.slice(UNIX.length).replace(/^\/+/, '/')
}
