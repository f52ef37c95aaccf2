/* release/no_tls.c - what libmicrohttpd needs of GnuTLS when GnuTLS is not there.
 *
 * Our server speaks plain HTTP (a proxy in front of it may do more), but Debian's static
 * libmicrohttpd refers to GnuTLS all the same, whose own libraries do not all exist as static ones.
 * The library calls the first two functions at its start and end, and the others only for
 * connections with TLS, which nobody asks it for.
 */
#include <stdlib.h>

#include "base/compiler.h"

HIDDEN int gnutls_global_init(void);
HIDDEN void gnutls_global_deinit(void);
extern HIDDEN void *(*gnutls_malloc)(size_t);

int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void)
{
}

void *(*gnutls_malloc)(size_t) = malloc;

#define NEVER(name)                                                                                \
	HIDDEN void gnutls_##name(void);                                                           \
	void gnutls_##name(void)                                                                   \
	{                                                                                          \
		abort();                                                                           \
	}

NEVER(alpn_set_protocols)
NEVER(bye)
NEVER(certificate_allocate_credentials)
NEVER(certificate_free_credentials)
NEVER(certificate_server_set_request)
NEVER(certificate_set_dh_params)
NEVER(certificate_set_retrieve_function2)
NEVER(certificate_set_retrieve_function3)
NEVER(certificate_set_x509_key_mem)
NEVER(certificate_set_x509_key_mem2)
NEVER(certificate_set_x509_trust_mem)
NEVER(cipher_get)
NEVER(credentials_set)
NEVER(deinit)
NEVER(dh_params_deinit)
NEVER(dh_params_import_pkcs3)
NEVER(dh_params_init)
NEVER(handshake)
NEVER(init)
NEVER(priority_deinit)
NEVER(priority_init)
NEVER(priority_set)
NEVER(protocol_get_version)
NEVER(psk_allocate_server_credentials)
NEVER(psk_free_server_credentials)
NEVER(psk_set_server_credentials_function)
NEVER(record_check_pending)
NEVER(record_get_direction)
NEVER(record_recv)
NEVER(record_send)
NEVER(session_get_ptr)
NEVER(session_set_ptr)
NEVER(strerror)
NEVER(transport_set_int2)
