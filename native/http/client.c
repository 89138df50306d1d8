/*
 * What is kept between exchanges: one multi handle, which holds the connections, and one easy
 * handle, whose options are reset for each exchange. An exchange without a client makes its own for
 * its time.
 */
#include "http/http_private.h"

#define KEPT_CONNECTIONS 4L

AcrHttpClient *acr_http_client_new(void)
{
    AcrHttpClient *client = g_new0(AcrHttpClient, 1);

    client->multi = curl_multi_init();
    client->easy = curl_easy_init();
    if (client->multi)
        curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    return client;
}

void acr_http_client_free(AcrHttpClient *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->easy);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    g_free(client);
}
